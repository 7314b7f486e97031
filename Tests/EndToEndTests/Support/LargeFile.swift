import WeirTestSupport

/// A file that goes up or down whole: as large as is promised with `script/test --large`, else as a machine has time for.
enum LargeFile {
  static let size = LargeForm.isWanted ? 1 << 30 : 64 << 20
}
