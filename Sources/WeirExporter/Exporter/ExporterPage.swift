package import WeirServer

/// A page of the program at a path of the exporter's address. Its content is the program's own.
package struct ExporterPage: Sendable {
  package struct Response: Sendable {
    package var status: Int
    /// Header fields besides those of every response.
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
      self.status = status
      self.fields = fields
      self.body = body
    }

    package init(status: Int, fields: [(name: String, value: String)] = [], text: String) {
      let type = (name: "Content-Type", value: "text/plain; charset=utf-8")
      self.init(status: status, fields: fields + [type], body: Array(text.utf8))
    }
  }

  /// Makes the page, and calls `done` once with it, on any thread. Called on the exporter's thread; must not block.
  package typealias Answer =
    @Sendable (_ request: RequestHead, _ done: @escaping @Sendable (Response) -> Void) -> Void

  let answer: Answer

  package init(_ answer: @escaping Answer) {
    self.answer = answer
  }
}
