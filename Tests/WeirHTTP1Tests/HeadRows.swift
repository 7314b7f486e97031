/// Status lines (RFC 9112 §4).
let statusLineRows: [Row] = [
  Row("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 keep"),
  Row("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "200 keep"),
  Row("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "200 keep"),
  Row("HTTP/1.1 200  OK \r\nContent-Length: 0\r\n\r\n", "200 keep"),
  Row("HTTP/1.1 404 \u{e9}\t!\r\nContent-Length: 0\r\n\r\n", "404 keep"),
  Row("HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", "200 'abc' keep"),
  Row("HTTP/1.1 600 Odd\r\nContent-Length: 3\r\n\r\nabc", "600 'abc' keep"),
  Row("HTTP/1.1 999 Odd\r\nContent-Length: 3\r\n\r\nabc", "999 'abc' keep"),
  Row("HTTP/1.1 099 Low\r\n\r\n", "!head.status"),
  Row("HTTP/1.1 000 Low\r\n\r\n", "!head.status"),
  Row("HTTP/2 200 OK\r\n\r\n", "!head.version"),
  Row("HTTP/2.0 200 OK\r\n\r\n", "!head.version"),
  Row("HTTP/3 200 \r\n\r\n", "!head.version"),
  Row("HTTP/1.2 200 OK\r\nContent-Length: 3\r\n\r\nabc", "200 'abc' keep"),
  Row("HTTP/1.9 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "200 keep"),
  Row("HTTP/1.2 103 Hints\r\n\r\nHTTP/1.2 204 No\r\n\r\n", "103 204 keep"),
  Row("HTTP/1 200 OK\r\n\r\n", "!notHTTP"),
  Row("HTTP/0.9 200 OK\r\n\r\n", "!notHTTP"),
  Row("HTTP/9.9 200 OK\r\n\r\n", "!notHTTP"),
  Row("HTTP/1.10 200 OK\r\n\r\n", "!notHTTP"),
  Row("HTTP/1.1 2000 OK\r\n\r\n", "!notHTTP"),
  Row("HTTP/1.1 20 OK\r\n\r\n", "!notHTTP"),
  Row("HTTP/1.1 200OK\r\n\r\n", "!notHTTP"),
  Row("HTTP/1.1 -20 OK\r\n\r\n", "!notHTTP"),
  Row("HTTP/1.1 2e2 OK\r\n\r\n", "!notHTTP"),
  Row("HTTP/1.1  200 OK\r\n\r\n", "!notHTTP"),
  Row("HTTP/1.1\t200 OK\r\n\r\n", "!notHTTP"),
  Row("HTTP/1.1 200\tOK\r\n\r\n", "!notHTTP"),
  Row("HTTP/1.1 OK\r\n\r\n", "!notHTTP"),
  Row("HTTP/1.1\r\n\r\n", "!notHTTP"),
  Row("HTTP/1.1 abc OK\r\n\r\n", "!notHTTP"),
  Row("http/1.1 200 OK\r\n\r\n", "!notHTTP"),
  Row(" HTTP/1.1 200 OK\r\n\r\n", "!notHTTP"),
  Row("\r\nHTTP/1.1 200 OK\r\n\r\n", "!notHTTP"),
  Row("\nHTTP/1.1 200 OK\r\n\r\n", "!notHTTP"),
  Row("220 smtp.example ESMTP\r\n\r\n", "!notHTTP"),
  Row("garbage without end", "!notHTTP"),
  Row("HTTPS", "!notHTTP"),
  Row("ICY 200 OK\r\n\r\n", "!notHTTP"),
  Row("\u{15}\u{3}\u{1}\0\u{2}\u{2}P", "!notHTTP"),
  Row("HTTP/1.1 200 O\0K\r\n\r\n", "!head.reason"),
  Row("HTTP/1.1 200 O\rK\r\n\r\n", "!head.reason"),
  Row("HTTP/1.1 200 OK\r\r\n\r\n", "!head.reason"),
  Row("HTTP/1.1 200 O\u{1}K\r\nContent-Length: 0\r\n\r\n", "200 keep"),
  Row("HTTP/1.1 200 O\u{7f}K\r\nContent-Length: 0\r\n\r\n", "200 keep"),
]

/// Field lines and their folds (RFC 9112 §5).
let fieldRows: [Row] = [
  Row(ok("A: b", "Content-Length: 0"), "200 keep"),
  Row(ok("A:b", "A:", "A:  ", "A: \t b \t", "Content-Length: 0"), "200 keep"),
  Row(ok("!#$%&'*+-.^_`|~09azAZ: b", "Content-Length: 0"), "200 keep"),
  Row(ok("A_long_name_with_others-than-letters: b", "Content-Length: 0"), "200 keep"),
  Row(ok("A: b: c", "Content-Length: 0"), "200 keep"),
  Row(bytes: Array("HTTP/1.1 204 No\r\nA: ".utf8) + [0x80, 0xff, 0xc3, 0x28] + Array("\r\n\r\n".utf8), "204 keep"),
  Row(ok("A: \"b\tc\"", "Content-Length: 0"), "200 keep"),
  Row(ok("A : b", "A\t : b", "Content-Length: 0"), "200 keep"),
  Row(ok(": b", "Content-Length: 0"), "!head.fieldName"),
  Row(ok("No colon", "Content-Length: 0"), "!head.fieldName"),
  Row(ok("Nocolon", "Content-Length: 0"), "!head.fieldName"),
  Row(ok("A B: c", "Content-Length: 0"), "!head.fieldName"),
  Row(ok("A(b): c", "Content-Length: 0"), "!head.fieldName"),
  Row(ok("A\u{b}: c", "Content-Length: 0"), "!head.fieldName"),
  Row(ok("Transfer-Encoding\u{b}: chunked", "Content-Length: 0"), "!head.fieldName"),
  Row(ok("A\0: c", "Content-Length: 0"), "!head.fieldName"),
  Row(ok("\u{e9}: c", "Content-Length: 0"), "!head.fieldName"),
  Row(ok("A: b\0c", "Content-Length: 0"), "!head.fieldValue"),
  Row(ok("A: b\rc", "Content-Length: 0"), "!head.fieldValue"),
  Row(ok("A: b\r", "Content-Length: 0"), "!head.fieldValue"),
  Row(ok("A: b\rContent-Length: 5", "Content-Length: 0"), "!head.fieldValue"),
  Row(ok("A: b\u{1}c", "Content-Length: 0"), "200 keep"),
  Row(ok("A: 1234567\u{1b}c", "Content-Length: 0"), "200 keep"),
  Row(ok("A: b\u{7f}", "Content-Length: 0"), "200 keep"),
  Row("HTTP/1.1 200 OK\r\nA: b\r\n\r\r\n", "!head.fieldName"),
  Row("HTTP/1.1 304 No\r\nA: b\r\n\rX: y\n", "!head.fieldName"),
  Row(ok("A: b", " c", "Content-Length: 0"), "200 keep"),
  Row(ok("A: b", "\tc", " ", "\t\t", "Content-Length: 0"), "200 keep"),
  Row(ok("A: b", " Content-Length: 5", "Content-Length: 0"), "200 keep"),
  Row(ok("A: b", " c\0d", "Content-Length: 0"), "!head.fieldValue"),
  Row(ok("A: b", " c\rd", "Content-Length: 0"), "!head.fieldValue"),
  Row(ok(" A: b", "Content-Length: 0"), "!head.fold"),
  Row(ok("\tA: b", "Content-Length: 0"), "!head.fold"),
  Row(ok(" ", "Content-Length: 0"), "!head.fold"),
  Row(ok("Content-Length: 3", " 0", then: "abc"), "!head.fold"),
  Row(ok("Content-Length: 3", " ", then: "abc"), "!head.fold"),
  Row(ok("Transfer-Encoding: chunked", " , gzip"), "!refusedTransferEncoding"),
  Row(ok("Transfer-Encoding:", " chunked"), "!refusedTransferEncoding"),
  Row("HTTP/1.1 100 OK\r\n A: b\r\n\r\n" + ok("Content-Length: 0"), "!head.fold"),
  Row("HTTP/1.1 100 OK\r\nA: b\r\n c\r\n\r\n" + ok("Content-Length: 0"), "100 200 keep"),
  Row("HTTP/1.1 100 OK\r\nNo colon\r\n\r\n" + ok("Content-Length: 0"), "!head.fieldName"),
]

/// The limit of a head, of all heads, and of interim responses.
let limitRows: [Row] = [
  Row(head(of: 64), "200 keep") { $0.maximumHeadSize = 64 },
  Row(head(of: 65), "!headTooLarge") { $0.maximumHeadSize = 64 },
  Row(head(of: 200_000), "!headTooLarge"),
  Row("HTTP/1.1 200 " + String(repeating: "a", count: 70_000), "!headTooLarge"),
  Row("HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 70_000), "!headTooLarge"),
  Row(ok("A: \0", String(repeating: "a", count: 70_000)), "!head.fieldValue"),
  Row(String(repeating: hints, count: 16) + ok("Content-Length: 0"), interims(16) + "200 keep"),
  Row(String(repeating: hints, count: 17) + ok("Content-Length: 0"), interims(16) + "!tooManyInterimResponses"),
  Row(String(repeating: hints, count: 12), interims(10) + "!headTooLarge") { $0.maximumHeadSize = 51 },
  Row(chunked("0\r\nX: " + String(repeating: "a", count: 52) + "\r\n\r\n"), "200 keep") { $0.maximumHeadSize = 59 },
  Row(chunked("0\r\nX: " + String(repeating: "a", count: 53) + "\r\n\r\n"), "200 !chunks.trailersTooLarge") {
    $0.maximumHeadSize = 59
  },
  Row(chunked("0\r\n" + String(repeating: "X: y\r\n", count: 20)), "200 !chunks.trailersTooLarge") {
    $0.maximumHeadSize = 59
  },
  Row("HTTP/1.1 200\n\n", "200 close fin") { $0.maximumHeadSize = 0 },
  Row("HTTPX", "!notHTTP") { $0.maximumHeadSize = 1 },
]

private let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

private func interims(_ count: Int) -> String { String(repeating: "103 ", count: count) }

private func head(of size: Int) -> String {
  let frame = ok("Content-Length: 0", "X: ")
  return ok("Content-Length: 0", "X: " + String(repeating: "a", count: size - frame.utf8.count))
}
