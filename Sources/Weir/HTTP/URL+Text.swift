import WeirHTTP

extension URL {
  /// The URL of a text, or of a reference to be resolved, whose octets are percent-encoded where they must be.
  ///
  /// It takes the place of `init(string:)`, which encodes the escapes of a text once more if it has to encode anything.
  package init?(text: String, relativeTo base: URL? = nil) {
    self.init(string: URLSyntax.wellFormed(text), relativeTo: base)
  }
}
