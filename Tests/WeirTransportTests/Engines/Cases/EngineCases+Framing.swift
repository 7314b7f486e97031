import WeirCurl
import WeirTestSupport

extension EngineCase {
  static let lengths: [EngineCase] = [
    fields("Content-Length twice, the same", "Content-Length: 5|Content-Length: 5", "hello"),
    fields("Content-Length twice, different", "Content-Length: 5|Content-Length: 6", "hello"),
    fields("Content-Length as a list of the same", "Content-Length: 5, 5", "hello"),
    fields("Content-Length as a list of different ones", "Content-Length: 5, 6", "hello"),
    fields("Content-Length with a sign", "Content-Length: +5", "hello"),
    fields("a negative Content-Length", "Content-Length: -5", "hello"),
    fields("a hexadecimal Content-Length", "Content-Length: 0x5", "hello"),
    fields("an empty Content-Length", "Content-Length:", "hello"),
    fields("a Content-Length with leading zeros", "Content-Length: 0005", "hello"),
    fields("a Content-Length with blanks around", "Content-Length: \t 5 \t", "hello"),
    fields("a Content-Length with a blank inside", "Content-Length: 5 5", "hello"),
    fields("a Content-Length with letters behind", "Content-Length: 5abc", "hello"),
    fields("a Content-Length of 18 digits", "Content-Length: 999999999999999999", "hello", ending: .close),
    fields("a Content-Length of 20 digits", "Content-Length: 99999999999999999999", "hello"),
    fields("a Content-Length of nothing", "Content-Length: 0", ""),
  ]

  static let codings: [EngineCase] = [
    fields("Transfer-Encoding after Content-Length", "Content-Length: 5|Transfer-Encoding: chunked", "5|hello|0||"),
    fields("Transfer-Encoding before Content-Length", "Transfer-Encoding: chunked|Content-Length: 5", "5|hello|0||"),
    fields("Transfer-Encoding: gzip", "Transfer-Encoding: gzip", "hello", ending: .close),
    fields("Transfer-Encoding: gzip, chunked", "Transfer-Encoding: gzip, chunked", "5|hello|0||"),
    fields("Transfer-Encoding: chunked, gzip", "Transfer-Encoding: chunked, gzip", "5|hello|0||"),
    fields("Transfer-Encoding: chunked, chunked", "Transfer-Encoding: chunked, chunked", "5|hello|0||"),
    fields("Transfer-Encoding twice", "Transfer-Encoding: chunked|Transfer-Encoding: chunked", "5|hello|0||"),
    fields("Transfer-Encoding: identity", "Transfer-Encoding: identity|Content-Length: 5", "hello"),
    fields("Transfer-Encoding: Chunked", "Transfer-Encoding: Chunked", "5|hello|0||"),
    fields("Transfer-Encoding: chunked;a=b", "Transfer-Encoding: chunked;a=b", "5|hello|0||"),
    fields("an empty Transfer-Encoding", "Transfer-Encoding:|Content-Length: 5", "hello"),
    fields("Content-Encoding, which is not decoded", "Content-Encoding: gzip|Content-Length: 5", "hello"),
    EngineCase("a chunked response of HTTP/1.0", answer: "HTTP/1.0 200 OK|Transfer-Encoding: chunked||5|hello|0||"),
  ]

  static let chunks: [EngineCase] = [
    chunked("one chunk", "5|hello|0||"),
    chunked("several chunks", "5|hello|1| |5|world|0||"),
    chunked("no chunk but the last", "0||"),
    chunked("hexadecimal sizes of either case", "A|0123456789|b|0123456789a|0||"),
    chunked("leading zeros", "0005|hello|000||"),
    chunked("many leading zeros", String(repeating: "0", count: 30) + "5|hello|0||"),
    chunked("a size with letters behind that are digits", "3abc|hello|0||", ending: .close),
    chunked("a size with other letters behind", "3xyz|abc|0||"),
    chunked("a blank behind a size", "2 |ok|0||"),
    chunked("a blank before a size", " 2|ok|0||"),
    chunked("a tab behind a size", "2\t|ok|0||"),
    chunked("padded sizes", "2  |ok|0 \t||"),
    chunked("a blank before an extension", "2 ;a=b|ok|0\t;c||"),
    chunked("extensions without a name", "2;|ok|0;; =a||"),
    chunked("an extension in each of 9000 chunks", String(repeating: "1;a|x|", count: 9000) + "0||"),
    chunked(
      "long extensions of small chunks",
      String(repeating: "1;\(String(repeating: "a", count: 200))|x|", count: 100) + "0||"),
    chunked("a negative size", "-2|ok|0||"),
    chunked("a size with a sign", "+2|ok|0||"),
    chunked("a size with 0x", "0x2|ok|0||"),
    chunked("an empty size", "|ok|0||"),
    chunked("a size that is no number", "zz|ok|0||"),
    chunked("a huge size", "7fffffffffffffff|ok", ending: .close),
    chunked("a size beyond 64 bits", "10000000000000002|ok|0||"),
    chunked("extensions", "5;a=b;c=\"d;e\" ; f|hello|0;g||"),
    chunked("an extension of 5 KiB", "5;\(String(repeating: "a", count: 5120))|hello|0||"),
    chunked("an extension of 32 KiB", "5;\(String(repeating: "a", count: 32_768))|hello|0||"),
    chunked("a bare LF behind a size", "5\nhello|0||"),
    chunked("a bare LF behind a chunk", "5|hello\n0||"),
    chunked("a bare LF behind the last chunk", "5|hello|0|\n"),
    chunked("a bare CR behind a size", "5\rhello|0||", ending: .close),
    chunked("no line end behind a chunk", "5|hello0||"),
    chunked("bytes behind a chunk", "5|helloX|0||"),
    chunked("trailers", "5|hello|0|A: b|C: d||"),
    chunked("a folded trailer", "5|hello|0|A: b| c||"),
    chunked("a trailer without a colon", "5|hello|0|no colon||"),
    chunked("a trailer that looks like a status line", "5|hello|0|HTTP/1.1 200 OK||"),
    chunked(
      "trailers over the limit",
      "5|hello|0|\(String(repeating: "A: \(String(repeating: "a", count: 1000))|", count: 50))|"
    ) {
      $0.options = { $0.maximumHeaderSize = 4096 }
    },
    chunked("bytes behind the last chunk", "5|hello|0||more"),
    chunked("the end within a size", "5", ending: .close),
    chunked("the end within a chunk", "5|hel", ending: .close),
    chunked("the end behind a chunk", "5|hello", ending: .close),
    chunked("the end before the last chunk", "5|hello|", ending: .close),
    chunked("the end within the last chunk", "5|hello|0|", ending: .close),
    chunked("the end within trailers", "5|hello|0|A: b|", ending: .close),
  ]

  private static func fields(
    _ name: String, _ lines: String, _ body: String, ending: Script.Step? = nil
  ) -> EngineCase {
    EngineCase(name, answer: "HTTP/1.1 200 OK|\(lines)||\(body)", ending: ending)
  }

  private static func chunked(
    _ name: String, _ body: String, ending: Script.Step? = nil, change: (inout EngineCase) -> Void = { _ in }
  ) -> EngineCase {
    EngineCase(
      "chunks: \(name)", answer: "HTTP/1.1 200 OK|Transfer-Encoding: chunked||\(body)", ending: ending, change: change)
  }
}
