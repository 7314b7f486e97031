import Foundation
package import Testing

extension Trait where Self == ConditionTrait {
  /// For suites that take seconds: `script/test --quick` leaves them out.
  package static var slow: Self {
    .disabled(if: ProcessInfo.processInfo.environment["WEIR_TEST_QUICK"] != nil, "it takes seconds")
  }
}

/// Tests that move as many bytes as is promised with `script/test --large`, else as many as a machine has time for.
package enum LargeForm {
  package static let isWanted = ProcessInfo.processInfo.environment["WEIR_TEST_LARGE"] != nil
}
