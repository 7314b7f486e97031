public import Synchronization

/// A reference to an object that is kept once it is made, by whichever thread is the first. It does what an
/// `AtomicLazyReference` does, which looks up generic types at each load: 500 instructions.
@usableFromInline
package struct LazyReference<Object: AnyObject & Sendable>: ~Copyable, Sendable {
  /// The address of the object, which is retained; 0 without one.
  @usableFromInline let address = Atomic<UInt>(0)

  @inlinable package init() {}

  deinit { Self.reference(address.load(ordering: .acquiring))?.release() }

  @inlinable
  static func reference(_ address: UInt) -> Unmanaged<Object>? {
    UnsafeRawPointer(bitPattern: address).map { .fromOpaque($0) }
  }

  /// The object; nil before one is kept.
  @inlinable
  package func load() -> Object? { Self.reference(address.load(ordering: .acquiring))?.takeUnretainedValue() }

  /// Calls `body` with the object, which is not retained for that. Returns false if none is kept.
  @inlinable @inline(__always)
  package func with(_ body: (Object) -> Void) -> Bool {
    guard let known = Self.reference(address.load(ordering: .acquiring)) else { return false }
    known._withUnsafeGuaranteedRef { body($0) }
    return true
  }

  /// Keeps the object if it is the first. Returns the one that is kept.
  @inlinable
  package func storeIfNil(_ object: Object) -> Object {
    let new = Unmanaged.passRetained(object)
    let (isFirst, known) = address.compareExchange(
      expected: 0, desired: UInt(bitPattern: new.toOpaque()), ordering: .acquiringAndReleasing)
    if isFirst { return object }
    new.release()
    return Self.reference(known)?.takeUnretainedValue() ?? object
  }
}
