internal import WeirIO

// The bound on concurrent name lookups: a lookup too many is refused in libcurl's callback, which ends the transfer
// there and costs others nothing; it is started again when another lookup ends.
extension TransferEngine {
  func endLookup(of transfer: Transfer) {
    guard transfer.lookup == .running else { return }
    transfer.lookup = .none
    lookups.end()
    startPostponedLookups()
  }

  func startPostponedLookups() {
    while let transfer = lookups.next() {
      guard transfer.state == .waiting, transfer.failure == nil else {
        lookups.end()
        continue
      }
      transfer.lookup = .running
      need(.add, for: transfer)
    }
  }
}

extension Transfer {
  /// Whether libcurl may look a name up now.
  func lookupStarts() -> Bool {
    guard state == .running, failure == nil else { return false }
    guard lookup == .none, engine.prepared.needsLookup(spec.url) else { return true }
    guard engine.lookups.begin() else {
      lookup = .postponed
      return false
    }
    lookup = .running
    return true
  }
}
