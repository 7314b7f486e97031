/// A shell for which `weir completion` prints completions.
package enum Shell: String, CaseIterable, Sendable {
  case bash
  case zsh
  case fish

  /// A script that has the shell complete commands, flags and those values of flags that are words or files.
  package var completion: String {
    switch self {
    case .bash: Self.bashCompletion
    case .zsh: Self.zshCompletion
    case .fish: Self.fishCompletion
    }
  }

  /// A text in single quotes, as all three shells read it.
  static func quoted(_ text: String) -> String {
    "'" + text.replacing("'", with: #"'\''"#) + "'"
  }
}
