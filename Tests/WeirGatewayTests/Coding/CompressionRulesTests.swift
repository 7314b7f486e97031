import Testing
import WeirCompression
import WeirHTTP
import WeirServer

@testable import WeirGateway

/// Which bodies are coded and decoded, as a value.
@Suite struct CompressionRulesTests {
  @Test(
    arguments: [
      ("text/html", true), ("text/html; charset=utf-8", true), ("TEXT/HTML ;charset=x", true), ("text/plain", true),
      ("application/json", true), ("application/problem+json", true), ("application/javascript", true),
      ("application/xml", true), ("application/atom+xml", true), ("image/svg+xml", true),
      ("text/event-stream", false), ("Text/Event-Stream; x=y", false), ("image/png", false), ("text/", false),
      ("text", false), ("", false), ("application/jsonx", false), ("application/+json", false),
      ("application/octet-stream", false), ("xtext/plain", false), ("application/json, text/html", false),
    ])
  func compressesText(type: String, isCompressed: Bool) {
    #expect(type.withOctets { CompressionRules().compresses(type: $0) } == isCompressed)
  }

  @Test(arguments: ["text", "*/*", "*/json", "a/b;c=d", "a/b*", "a/*b", "a/*+", "a/**", "a/b/c", "", " a/b", "a /b"])
  func patternsAreTypes(pattern: String) {
    #expect((MediaTypePattern(pattern) == nil) == (pattern != "a/*+"))
  }

  /// Every combination of the facts, beside the contract in other words.
  @Test func everyCombination() {
    var seen = (none: 0, gzip: 0, decode: 0)
    let lengths: [BodyLength?] = [nil, BodyLength.none, .length(0), .length(1023), .length(1024), .chunked]
    let codings: [[ContentCoding]?] = [nil, [], [.gzip], [.deflate], [.gzip, .deflate]]
    for status in [200, 203, 204, 206, 304, 404, 500] {
      for length in lengths {
        for coding in codings {
          for bits in 0..<128 {
            let (isToHead, isToHTTP10, isOfTypes) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0)
            let (hasRange, forbidsChanges) = (bits & 8 != 0, bits & 16 != 0)
            var rules = CompressionRules()
            (rules.compressesResponses, rules.decodesResponses) = (bits & 32 != 0, bits & 64 != 0)
            let facts = ResponseFacts(
              status: status, isToHead: isToHead, isToHTTP10: isToHTTP10,
              isOfTypes: isOfTypes && rules.compressesResponses, codings: coding, hasRange: hasRange,
              forbidsChanges: forbidsChanges, length: length)
            for accepted in [nil, "gzip", "deflate", "gzip, deflate", "gzip;q=0.1, identity"] {
              let isLeftAlone =
                isToHead || isToHTTP10 || hasRange || forbidsChanges || [204, 206, 304].contains(status)
                || [nil, BodyLength.none, .length(0)].contains(length)
              let readsGzip = accepted?.contains("gzip") ?? false
              let readsDeflate = accepted?.contains("deflate") ?? false
              let reads = (coding ?? []).allSatisfy { $0 == .gzip ? readsGzip : readsDeflate }
              let hasCoding = !(coding ?? []).isEmpty
              var expected = ResponseTreatment()
              expected.varies = facts.isOfTypes || rules.decodesResponses && hasCoding
              if !isLeftAlone, rules.decodesResponses, hasCoding, !reads, let coding {
                expected.work = .decode(coding)
                seen.decode += 1
              } else if !isLeftAlone, facts.isOfTypes, coding == [], length != .length(1023),
                accepted == "gzip" || accepted == "gzip, deflate"
              {
                expected.work = .gzip
                seen.gzip += 1
              } else {
                seen.none += 1
              }
              let treatment = rules.treatment(of: facts, for: AcceptedCodings(accepted))
              #expect(treatment == expected, "\(facts) \(rules) \(accepted ?? "-")")
            }
          }
        }
      }
    }
    #expect(seen.none > 10_000 && seen.gzip > 20 && seen.decode > 100)
  }

  @Test(
    arguments: [
      (nil, false, true, .unknown), ([], false, true, .none), ([.gzip], false, true, .decode([.gzip])),
      ([.gzip], true, true, .none), ([.gzip], false, false, .none), (nil, false, false, .none),
      (nil, true, true, .none), ([.deflate, .gzip], false, true, .decode([.deflate, .gzip])),
    ] as [([ContentCoding]?, Bool, Bool, RequestTreatment)])
  func requests(codings: [ContentCoding]?, forbidsChanges: Bool, decodes: Bool, expected: RequestTreatment) {
    var rules = CompressionRules()
    rules.decodesRequests = decodes
    #expect(rules.treatment(ofRequest: codings, forbidsChanges: forbidsChanges) == expected)
  }

  @Test(
    arguments: [
      ("Content-Type: text/html", "true [] false false chunked"),
      ("Content-Type: image/png\r\nContent-Type: text/html", "false [] false false chunked"),
      ("Content-Length: 5", "false [] false false length(5)"),
      ("Content-Length: 5\r\nContent-Length: 6", "false [] false false nil"),
      ("Content-Encoding: identity", "false [] false false chunked"),
      ("Content-Encoding: gzip\r\ncontent-encoding: X-GZIP", "false [gzip, gzip] false false chunked"),
      ("Content-Encoding: gzip\r\nContent-Encoding: br", "false nil false false chunked"),
      ("Content-Encoding: gzip, gzip, gzip\r\nContent-Encoding: gzip, gzip", "false nil false false chunked"),
      ("Content-Range: bytes 0-1/2", "false [] true false chunked"),
      ("Cache-Control: private, No-Transform", "false [] false true chunked"),
      ("Cache-Control: no-transformer\r\nCache-Control: max-age=1", "false [] false false chunked"),
    ])
  func factsOfAHead(fields: String, expected: String) {
    var rules = CompressionRules()
    rules.compressesResponses = true
    let head = ResponseHead(status: 200, bytes: Array("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n".utf8))
    let facts = ResponseFacts(head, status: 200, isToHead: false, isToHTTP10: false, rules)
    let codings = facts.codings.map { "[\($0.map { "\($0)" }.joined(separator: ", "))]" } ?? "nil"
    let length = facts.length.map { "\($0)" } ?? "nil"
    #expect("\(facts.isOfTypes) \(codings) \(facts.hasRange) \(facts.forbidsChanges) \(length)" == expected)
  }
}
