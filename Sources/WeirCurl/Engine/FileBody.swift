internal import Glibc
internal import Synchronization
package import WeirIO

/// The bytes of a file. Bytes in the system's page cache are read on the loop, which does not block then. A worker
/// reads the rest, and reads ahead once the page cache has missed several times. Confined to the loop.
package final class FileBody {
  private static let chunkSize = 131_072
  /// After this many misses in a row, the page cache is not asked any more. The system sometimes also reports a miss
  /// for a page that it is working on.
  private static let missesAtMost = 3

  private let source: FileSource
  private let workers: WorkerPool
  private var chunk: [UInt8] = []
  private var consumed = 0
  private var next: FileSource.Chunk?
  private var isReading = false
  /// The offset of the next read.
  private var offset: Int64 = 0
  private let end: Int64
  /// Changes with each rewind, so that chunks asked for before it are dropped.
  private var generation = 0
  /// Called when bytes arrive after `read` had to answer `.pause`.
  package var onArrival: (() -> Void)?
  private var isAwaited = false
  /// The number of reads in a row for which the page cache had no bytes.
  private var misses = 0
  /// Why there are no more bytes; nil if there is no failure.
  package private(set) var defect: FileDefect?

  init(path: String, size: Int64, workers: WorkerPool) {
    source = FileSource(path: path)
    self.workers = workers
    end = size
  }

  /// Starts to read. The worker's answer comes back through `handle`.
  func readAhead(_ handle: LoopBound<FileBody>) {
    guard !isReading, next == nil, offset < end else { return }
    isReading = true
    let (generation, offset) = (generation, offset)
    let length = Int(min(Int64(Self.chunkSize), end - offset))
    workers.submit { [source] in
      let chunk = source.read(offset, length)
      handle.loop.post { handle.value.arrived(chunk, generation, handle) }
    }
  }

  /// Copies bytes to `buffer`; `.pause` when none are there yet.
  package func read(into buffer: UnsafeMutableRawBufferPointer, _ handle: LoopBound<FileBody>) -> BodySupply {
    if consumed == chunk.count, !advance() {
      if !isReading, offset >= end { return .end }
      if let count = readCached(into: buffer) { return .bytes(count) }
      isAwaited = true
      readAhead(handle)
      return .pause
    }
    guard !chunk.isEmpty else { return .failed }
    let count = chunk.copyBytes(from: consumed, to: buffer)
    consumed += count
    if misses == Self.missesAtMost { readAhead(handle) }
    return .bytes(count)
  }

  package func seek(to position: Int64) -> Bool {
    generation += 1
    chunk = []
    consumed = 0
    next = nil
    isReading = false
    isAwaited = false
    offset = position
    return true
  }

  private func readCached(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    guard misses < Self.missesAtMost, !isReading else { return nil }
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(min(Int64(buffer.count), end - offset))))
    guard let count = source.readCached(offset, into: room) else {
      misses += 1
      return nil
    }
    misses = 0
    offset += Int64(count)
    return count
  }

  private func arrived(_ chunk: FileSource.Chunk, _ generation: Int, _ handle: LoopBound<FileBody>) {
    guard generation == self.generation else { return }
    isReading = false
    next = chunk
    if case .success(let bytes) = chunk { offset += Int64(bytes.count) }
    guard isAwaited else { return }
    isAwaited = false
    onArrival?()
  }

  /// Moves on to the chunk that was read ahead. An empty chunk stands for a file with a defect.
  private func advance() -> Bool {
    guard let next else { return false }
    self.next = nil
    consumed = 0
    switch next {
    case .success(let bytes): chunk = bytes
    case .failure(let defect):
      chunk = []
      self.defect = defect
    }
    return true
  }
}

/// Why a file can't be sent to its end.
package enum FileDefect: Error, Sendable {
  case cannotOpen(Errno)
  case cannotRead(Errno)
  /// The path is now a FIFO, a device or a directory.
  case notRegular
  case tooShort

  package var errno: CInt? {
    switch self {
    case .cannotOpen(let errno), .cannotRead(let errno): errno.rawValue
    case .notRegular, .tooShort: nil
    }
  }

  package var text: String {
    switch self {
    case .cannotOpen(let errno): "can't be opened: \(errno)"
    case .cannotRead(let errno): "can't be read: \(errno)"
    case .notRegular: "is not a regular file"
    case .tooShort: "has become shorter since it was measured"
    }
  }
}

/// A file that workers read from; opened at the first read.
final class FileSource: Sendable {
  typealias Chunk = Result<[UInt8], FileDefect>

  private let path: String
  private let descriptor = Atomic<CInt>(-1)

  init(path: String) {
    self.path = path
  }

  deinit {
    let fd = descriptor.load(ordering: .acquiring)
    if fd >= 0 { close(fd) }
  }

  /// Reads at least one byte and at most `length`. If the file has ended before `offset`, that is a failure.
  func read(_ offset: Int64, _ length: Int) -> Chunk {
    Chunk { () throws(FileDefect) in
      let fd = try open()
      var failure: Errno?
      let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
        do throws(Errno) {
          count = try systemCall { pread(fd, buffer.baseAddress, length, off_t(offset)) }
        } catch {
          count = 0
          failure = error
        }
      }
      if let failure { throw .cannotRead(failure) }
      if bytes.isEmpty { throw .tooShort }
      return bytes
    }
  }

  /// Reads bytes that are in the page cache; nil if there are none, or if the file has not been opened.
  func readCached(_ offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    let fd = descriptor.load(ordering: .acquiring)
    return fd < 0 ? nil : FileSystem.readCached(fd, at: offset, into: buffer)
  }

  /// Opens the file once. After a rewind two workers may be here at once; the second one closes its descriptor.
  private func open() throws(FileDefect) -> CInt {
    let known = descriptor.load(ordering: .acquiring)
    if known >= 0 { return known }
    let fd = try openRegular()
    let (isFirst, earlier) = descriptor.compareExchange(expected: -1, desired: fd, ordering: .acquiringAndReleasing)
    if isFirst { return fd }
    close(fd)
    return earlier
  }

  /// Opens the file without blocking: it may have been replaced by a FIFO.
  private func openRegular() throws(FileDefect) -> CInt {
    do throws(Errno) {
      return try FileSystem.openRegular(path).descriptor
    } catch .isDirectory, .notRegular {
      throw .notRegular
    } catch {
      throw .cannotOpen(error)
    }
  }
}
