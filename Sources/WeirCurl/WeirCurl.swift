package import WeirIO
package final class PreparedHeaders { package init(lines: [String]) {} }
package protocol TransferEngineObserver: AnyObject { func engineDidOpenConnection(tag: AnyObject?); func engineDidCloseConnection(tag: AnyObject?) }
package final class TransferEngine { package init(loop: EventLoop, options: TransportOptions, observer: (any TransferEngineObserver)?) throws {}
 package func start(_ spec: TransferSpec, headers: PreparedHeaders, delegate: any TransferDelegate) -> Transfer { Transfer() }
 package func close() {} }
package final class Transfer { package func cancel() {}
 package func pauseReceiving() {}
 package func resumeReceiving() {}
 package func pauseSending() {}
 package func resumeSending() {} }
package enum Flow { case proceed, pause, stop }
package enum BodySupply { case bytes(Int), end, pause, failed }
package protocol TransferDelegate: AnyObject {
 func transfer(_ transfer: Transfer, didReceiveHead head: ResponseHead) -> Flow
 func transfer(_ transfer: Transfer, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow
 func transfer(_ transfer: Transfer, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply
 func transferRewindBody(_ transfer: Transfer) -> Bool
 func transfer(_ transfer: Transfer, didSendBody totalSent: Int64)
 func transfer(_ transfer: Transfer, didFinish error: TransferError?, report: TransferReport) }
