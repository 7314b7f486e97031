/// Something that a POST or PUT at a path of the exporter's address does to the program, such as a reload.
package struct AdminAction: Sendable {
  package struct Result: Sendable {
    package let status: Int
    /// Plain text, with its final line feed.
    package let text: String

    package init(status: Int, text: String) {
      self.status = status
      self.text = text
    }
  }

  /// Does it, and calls `done` once with the result, on any thread. Called on the exporter's thread; must not block.
  package typealias Act = @Sendable (_ done: @escaping @Sendable (Result) -> Void) -> Void

  let act: Act?
  let refusal: String

  /// - Parameters:
  ///   - act: Nil if it is turned off: then it is answered 403.
  ///   - refusal: How to turn it on, plain text with its final line feed.
  package init(_ act: Act?, refusal: String) {
    self.act = act
    self.refusal = refusal
  }
}
