import Foundation
import WeirTestSupport

/// What a trial makes, what its server does, and what is done to it: all by a seed.
struct KindPlan: Sendable, CustomStringConvertible {
  /// What is asked for.
  enum Kind: String, CaseIterable, Sendable {
    case data, stream, slowStream
    case uploadData, uploadFile, uploadTemporaryFile, uploadStream, uploadCompressed
    case multipartInMemory, multipartOnDisk
    case download, downloadToPlace, downloadResumed, downloadDecoded

    var isUpload: Bool { rawValue.hasPrefix("upload") || rawValue.hasPrefix("multipart") }
    var isDownload: Bool { rawValue.hasPrefix("download") }
    /// Whether the body can be had once only: by the attempt, and by the hop.
    var isReadOnce: Bool { self == .uploadStream }
  }

  /// What the server does with it.
  enum Answer: String, CaseIterable, Sendable {
    case good, slow, moved, busyFirst, unauthorizedFirst
    /// Before the body of an upload was read; then it reads on, closes or resets.
    case earlyThenReads, earlyThenCloses, earlyThenResets
    case cutInHead, cutInBody, closed, silent
  }

  /// What happens to it meanwhile.
  enum Interference: String, CaseIterable, Sendable {
    case none, cancel, cancelElsewhere, cancelProducing, cancelByProducing, cancelTask, cancelAll
    case suspend, suspendForLong, suspendAndCancel, suspendTask
    case dropSession, invalidate, finishAndInvalidate, deadline
  }

  let seed: UInt64
  let kind: Kind
  let answer: Answer
  let interference: Interference
  /// The event at which that happens, from 0: before the first.
  let event: Int
  /// Whether the steps that may have queues of their own have.
  let usesQueues: Bool
  let answersLater: Bool
  let responseSize: Int
  let requestSize: Int
  let deadline: Double

  init(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    self.seed = seed
    kind = Self.any(of: Kind.allCases, &random)
    answer = Self.any(of: Answer.allCases, &random)
    interference = Self.any(of: Interference.allCases, &random)
    event = Int.random(in: 0..<28, using: &random)
    usesQueues = Bool.random(using: &random)
    answersLater = Bool.random(using: &random)
    let sizes = kind == .downloadResumed ? [3_000, 70_000, 200_000] : [0, 1, 3_000, 70_000, 200_000]
    responseSize = kind == .slowStream ? KindBody.maximum : Self.any(of: sizes, &random)
    requestSize = Self.any(of: [0, 1, 3_000, 100_000, 400_000], &random)
    let short = Self.any(of: [0.001, 0.004, 0.02], &random)
    deadline = interference == .deadline ? short : answer == .silent ? 0.1 : 30
  }

  private static func any<Value>(of values: [Value], _ random: inout SeededRandom) -> Value {
    values[Int(random.next() % UInt64(values.count))]
  }

  var description: String {
    "seed \(seed): \(kind.rawValue), \(answer.rawValue), \(interference.rawValue) at event \(event), "
      + "\(requestSize) there, \(responseSize) back, queues \(usesQueues), later \(answersLater), deadline \(deadline)"
  }
}

extension KindPlan {
  /// Whether others could not use its session after it.
  var endsSession: Bool {
    switch interference {
    case .dropSession, .invalidate, .finishAndInvalidate, .cancelAll: true
    default: false
    }
  }
}

// MARK: How it may end

extension KindPlan {
  static let success = "success"

  /// How it ends when nobody interferes.
  var undisturbed: Set<String> {
    switch answer {
    case .good, .slow: [Self.success]
    case .moved: kind.isReadOnce ? ["request_body_stream_exhausted"] : [Self.success]
    case .busyFirst, .unauthorizedFirst: kind.isReadOnce ? ["unacceptable_status_code"] : [Self.success]
    case .earlyThenReads, .earlyThenCloses, .earlyThenResets: ["unacceptable_status_code"]
    case .cutInHead, .closed: ["network_connection_lost"]
    case .cutInBody: responseSize == 0 ? ["network_connection_lost", Self.success] : ["network_connection_lost"]
    case .silent: ["timed_out"]
    }
  }

  /// How it may end when there was interference before it settled.
  var disturbed: Set<String> {
    switch interference {
    case .none, .suspend, .suspendForLong, .suspendTask: undisturbed
    case .cancel, .cancelProducing, .cancelByProducing: ["explicitly_cancelled"]
    case .cancelElsewhere, .cancelAll, .suspendAndCancel: undisturbed.union(["explicitly_cancelled"])
    case .cancelTask: undisturbed.union(["cancelled"])
    // Without a session, or beyond the deadline, no retrier is asked.
    case .dropSession: untried.union(["session_deinitialized"])
    case .invalidate, .finishAndInvalidate: undisturbed.union(["session_invalidated"])
    case .deadline: untried.union(["timed_out"])
    }
  }

  /// How it may end without another attempt.
  private var untried: Set<String> {
    answer == .busyFirst || answer == .unauthorizedFirst
      ? undisturbed.union(["unacceptable_status_code"]) : undisturbed
  }
}

extension KindPlan {
  /// What of an attempt that was tried again its handlers have: chunks are not taken back.
  var deliveredBefore: [UInt8] {
    let isRetried = answer == .busyFirst || answer == .unauthorizedFirst
    return isRetried && (kind == .stream || kind == .slowStream) ? Array(KindBody.refusal.utf8) : []
  }
}

/// The bodies of trials: of little redundancy, so that no limit of a decoder is met.
enum KindBody {
  static let maximum = 1_500_000
  /// Of whatever is no good answer.
  static let refusal = "no"

  private static let noise: [UInt8] = {
    var random = SeededRandom(seed: 12)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(maximum + 8)
    while bytes.count < maximum {
      let word = random.next()
      for shift in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: word >> (8 * UInt64(shift))) & 63 | 64) }
    }
    return bytes
  }()

  static func bytes(_ count: Int) -> [UInt8] { Array(noise.prefix(count)) }
}
