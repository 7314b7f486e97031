/// Makes requests and holds what they share.
public final class Session: Sendable {
  public init() {}
}
