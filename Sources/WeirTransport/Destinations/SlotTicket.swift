/// The place of an attempt that waits for a slot of its destination.
enum SlotTicket: Sendable {
  case first(UInt64)
  case again(UInt64)
  /// In the waiting room of load control.
  case controlled(OverloadMachine.Ticket)
}
