public enum UnixSignal: Sendable, Hashable { case sigterm, sigint }
