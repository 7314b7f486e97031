import Testing
import WeirMetrics

@testable import WeirExporter

@Suite struct FormatNegotiationTests {
  private static let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily"

  /// What scrapers in the field send.
  @Test(
    arguments: [
      (nil, .text),
      ("*/*", .text),
      ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", .text),
      ("text/plain", .text),
      ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .text),
      // Prometheus 2.5 to 2.22
      ("application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .text),
      // Prometheus 2.42
      (
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
          + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .openMetrics
      ),
      // Prometheus 3
      (
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
          + "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
          + "text/plain;version=0.0.4;q=0.2,*/*;q=0.1", .openMetrics
      ),
      // … with native histograms
      (
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,"
          + "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
          + "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
          + "text/plain;version=0.0.4;q=0.2,*/*;q=0.1", .protobuf
      ),
      // Prometheus 2.42 with native histograms
      (
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,"
          + "application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,"
          + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .protobuf
      ),
      // Prometheus 3 that is to scrape text
      ("text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.4", .text),
      ("text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,*/*;q=0.5", .text),
      // VictoriaMetrics
      ("text/plain;version=0.0.4;q=1,*/*;q=0.1", .text),
      // OpenTelemetry collector, Telegraf
      ("application/openmetrics-text; version=0.0.1;q=1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .text),
      ("application/openmetrics-text, text/plain;q=0.5", .openMetrics),
    ] as [(String?, Exposition.Format)])
  func scrapers(accept: String?, format: Exposition.Format) {
    #expect(Exposition.Format(accept: accept) == format)
  }

  @Test(
    arguments: [
      // weight
      ("application/openmetrics-text;q=0.501, text/plain;q=0.5", .openMetrics),
      ("application/openmetrics-text;q=0.5, text/plain;q=0.501", .text),
      ("application/openmetrics-text;q=0", .text),
      ("application/openmetrics-text;q=0.000", .text),
      ("text/plain;q=0, application/openmetrics-text;q=0.001", .openMetrics),
      ("text/plain;q=0", .text),
      ("*/*;q=0", .text),
      ("text/plain;q=0, */*", .openMetrics),
      // the most specific range decides, not the best
      ("application/openmetrics-text;q=0.1, */*", .text),
      ("application/openmetrics-text;version=1.0.0;q=0.1, application/openmetrics-text, text/plain;q=0.5", .text),
      (
        "application/openmetrics-text;q=0.1, application/openmetrics-text;version=1.0.0, text/plain;q=0.5", .openMetrics
      ),
      (
        "application/openmetrics-text;version=1.0.0;version=1.0.0;q=0, application/openmetrics-text;version=1.0.0",
        .openMetrics
      ),
      ("text/*;q=0.3, application/*;q=0.4", .openMetrics),
      ("text/*, application/*", .text),
      // equal weights
      ("application/openmetrics-text, text/plain", .openMetrics),
      ("text/plain, application/openmetrics-text", .text),
      ("text/plain, application/openmetrics-text;version=1.0.0", .openMetrics),
      ("*/*, application/openmetrics-text", .openMetrics),
      ("application/*, text/plain", .text),
      // parameters
      ("application/openmetrics-text;version=1.0.0;charset=utf-8, text/plain;q=0.9", .openMetrics),
      ("application/openmetrics-text;charset=UTF-8, text/plain;q=0.9", .openMetrics),
      ("application/openmetrics-text;charset=latin1, text/plain;q=0.1", .text),
      ("application/openmetrics-text;version=2.0.0, text/plain;q=0.1", .text),
      ("application/openmetrics-text;unknown=1", .text),
      ("application/openmetrics-text;version=\"1.0.0\", text/plain;q=0.9", .openMetrics),
      ("application/openmetrics-text;version=\"1.\\0.0\", text/plain;q=0.9", .openMetrics),
      ("application/openmetrics-text;q=0.9;version=1.0.0, text/plain;q=0.8", .openMetrics),
      ("application/openmetrics-text ; ; Q=0.9 ; Version=1.0.0 ,text/plain;q=0.8", .openMetrics),
      ("APPLICATION/OpenMetrics-Text", .openMetrics),
      // protobuf, with its message and its encoding
      ("\(protobuf);encoding=delimited, */*", .protobuf),
      ("Application/VND.Google.Protobuf;Encoding=DELIMITED;Proto=io.prometheus.client.metricfamily", .protobuf),
      ("\(protobuf);encoding=delimited;q=0.5, text/plain;q=0.6", .text),
      ("\(protobuf);encoding=delimited;q=0.5, application/openmetrics-text;q=0.6", .openMetrics),
      ("\(protobuf);encoding=delimited, application/openmetrics-text;version=1.0.0", .protobuf),
      ("application/openmetrics-text;version=1.0.0;charset=utf-8, \(protobuf);encoding=delimited", .openMetrics),
      ("\(protobuf);encoding=delimited;q=0, text/plain;q=0.1", .text),
      ("\(protobuf);encoding=text, text/plain;q=0.1", .text),
      ("\(protobuf);encoding=compact-text, application/openmetrics-text;q=0.1", .openMetrics),
      ("\(protobuf), text/plain;q=0.1", .text),
      ("application/vnd.google.protobuf;encoding=delimited;proto=other.Message, text/plain;q=0.1", .text),
      ("application/vnd.google.protobuf, text/plain;q=0.1", .text),
      ("application/*, text/plain;q=0.1", .openMetrics),
    ] as [(String, Exposition.Format)])
  func rules(accept: String, format: Exposition.Format) {
    #expect(Exposition.Format(accept: accept) == format)
  }

  @Test(
    arguments: [
      ("", .text), (",", .text), (",,, ,", .text), (";q=1", .text), ("/", .text), ("application/", .text),
      ("application /openmetrics-text", .text),
      ("application/openmetrics-text/1", .text),
      ("application/openmetrics-text;version", .text),
      ("application/openmetrics-text;version=", .text),
      ("application/openmetrics-text;version=\"1.0.0", .text),
      ("application/openmetrics-text;q=2", .text),
      ("application/openmetrics-text;q=x", .text),
      ("application/openmetrics-text;q=", .text),
      ("application/openmetrics-text;q=-1", .text),
      ("application/openmetrics-text;q=1.001", .text),
      // One broken element doesn't spoil the others.
      ("@, application/openmetrics-text", .openMetrics),
      ("text/plain;q=9, application/openmetrics-text;q=0.1", .openMetrics),
      ("x/y;z=\"a, text/plain\", application/openmetrics-text;q=0.1", .openMetrics),
      ("x y/z, application/openmetrics-text", .openMetrics),
      // A quoted string that doesn't end holds all the rest.
      ("x/y;z=\"a, application/openmetrics-text", .text),
      ("\u{e9}/\u{1F600}, application/openmetrics-text", .openMetrics),
    ] as [(String, Exposition.Format)])
  func brokenFields(accept: String, format: Exposition.Format) {
    #expect(Exposition.Format(accept: accept) == format)
  }
}

@Suite struct PageCodingTests {
  @Test(
    arguments: [
      (nil, .identity),
      ("", .identity),
      ("gzip", .gzip),
      ("GZip", .gzip),
      ("x-gzip", .gzip),
      ("gzip, deflate, br, zstd", .gzip),
      ("deflate, br", .identity),
      ("identity", .identity),
      ("gzip;q=0", .identity),
      ("gzip;q=0.0", .identity),
      ("gzip;q=0, *", .identity),
      ("gzip;q=0.001", .gzip),
      ("gzip;q=0.5, identity", .identity),
      ("gzip, identity", .gzip),
      ("gzip;q=0.5, identity;q=0.5", .gzip),
      ("*", .gzip),
      ("*;q=0.1, identity;q=0.2", .identity),
      ("*;q=0, identity", .identity),
      ("*;q=0, gzip", .gzip),
      ("identity;q=0, gzip;q=0.1", .gzip),
      ("identity;q=0, *", .gzip),
      // Nothing is left.
      ("identity;q=0", nil),
      ("*;q=0", nil),
      ("gzip;q=0, identity;q=0", nil),
      ("gzip;q=0, *;q=0", nil),
      ("identity;q=0, br", nil),
      // Broken elements are left out.
      ("gzip;q=1.5", .identity),
      ("gzip;q", .identity),
      ("identity;q=0;;;, gzip", .gzip),
      ("gzip;level=9", .gzip),
    ] as [(String?, PageCoding?)])
  func codings(field: String?, coding: PageCoding?) {
    #expect(PageCoding(acceptEncoding: field) == coding)
  }
}

@Suite struct ScrapeTimeoutTests {
  @Test(
    arguments: [
      (nil, 10), ("10", 9.5), ("5.000000", 4.5), ("1", 0.9), ("0.1", 0.09), ("60", 10), ("10.5", 10),
      ("", 10), ("0", 10), ("-1", 10), ("nan", 10), ("inf", 10), ("-inf", 10), ("1e400", 10), ("ten", 10),
      ("10s", 10), ("1e300", 10),
    ] as [(String?, Double)])
  func seconds(field: String?, seconds: Double) {
    #expect(abs(ScrapeTimeout.seconds(field, limit: 10) - seconds) < 1e-9)
  }
}
