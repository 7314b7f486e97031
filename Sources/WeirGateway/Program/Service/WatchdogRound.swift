/// Decides when the service manager gets a sign of life: whenever all loops have turned since the last one. A value.
///
/// At each tick, twice per interval, the loops are asked to turn. When the last of them has answered, the sign is given. A
/// loop that still owes an answer is not asked again, and no sign is given before it answers.
struct WatchdogRound: Equatable {
  private var number = 0
  private var owed = 0

  /// Begins a round of `count` loops. Returns its number; nil if the last one is not over.
  mutating func tick(loops count: Int) -> Int? {
    guard owed == 0, count > 0 else { return nil }
    number += 1
    owed = count
    return number
  }

  /// Takes a loop's answer. Returns whether to give the sign.
  mutating func answered(round: Int) -> Bool {
    guard round == number, owed > 0 else { return false }
    owed -= 1
    return owed == 0
  }
}
