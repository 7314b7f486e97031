import Weir

/// A manual page that `weir manual` prints.
package enum ManualPage: String, CaseIterable, Sendable {
  case program = "weir.1"
  case configuration = "weir.yml.5"

  /// The page, in the `man` macros of roff.
  package var text: String {
    let (title, section, manual) =
      switch self {
      case .program: ("WEIR", 1, "User Commands")
      case .configuration: ("WEIR.YML", 5, "File Formats")
      }
    let parts =
      switch self {
      case .program: Self.programParts
      case .configuration: Self.configurationParts
      }
    let head = ".TH \(title) \(section) \"\" \"weir \(WeirInfo.version)\" \"\(manual)\""
    return ([#".\" Made by `weir manual \#(rawValue)`."#, head] + parts).joined(separator: "\n") + "\n"
  }
}
