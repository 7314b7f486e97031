import Testing

@testable import WeirCurl

/// What is left of libcurl's texts.
struct CurlTextTests {
  @Test(arguments: [
    ("Empty reply from server", "Empty reply from server"),
    (
      "Invalid HTTP header field was received: frame type: 1, stream: 1, name: [set-cookie], value: [secret\r\nx: y]",
      "Invalid HTTP header field was received"
    ),
    (
      "certificate subject name 'a\r\nb\u{1b}\u{9b}é' does not match",
      "certificate subject name 'a??b??é' does not match"
    ),
  ])
  func isSanitized(text: String, expected: String) {
    #expect(CurlText.sanitized(text) == expected)
  }
}
