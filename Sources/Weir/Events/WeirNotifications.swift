/// Posts the events of requests to `NotificationCenter.default`, from the monitor's queue.
///
/// Opt-in: add it to the monitors of a session or a request. The object of a notification is nil. The request is in its
/// user info; read it by `Notification.request`.
public final class WeirNotifications: EventMonitor {
  /// Creates a monitor that uses the queue shared by all monitors without a queue of their own.
  public init() {}

  public var interests: EventInterests { .lifecycle }

  public func requestDidResume(_ request: Request) { post(Request.didResumeNotification, request) }
  public func requestDidSuspend(_ request: Request) { post(Request.didSuspendNotification, request) }
  public func requestDidCancel(_ request: Request) { post(Request.didCancelNotification, request) }
  public func requestDidFinish(_ request: Request) { post(Request.didFinishNotification, request) }

  public func request(_ request: Request, didResumeTask task: TransferTask) {
    post(Request.didResumeTaskNotification, request)
  }

  public func request(_ request: Request, didSuspendTask task: TransferTask) {
    post(Request.didSuspendTaskNotification, request)
  }

  public func request(_ request: Request, didCancelTask task: TransferTask) {
    post(Request.didCancelTaskNotification, request)
  }

  public func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {
    post(Request.didCompleteTaskNotification, request)
  }

  private func post(_ name: Notification.Name, _ request: Request) {
    NotificationCenter.default.post(name: name, object: nil, userInfo: [Notification.requestKey: request])
  }
}

extension Notification {
  fileprivate static let requestKey = "weir.notification.key.request"

  /// The request that one of weir's notifications is about.
  public var request: Request? { userInfo?[Self.requestKey] as? Request }
}

extension Request {
  /// Posted for ``EventMonitor/requestDidResume(_:)``.
  public static let didResumeNotification = Notification.Name("weir.notification.name.request.didResume")
  /// Posted for ``EventMonitor/requestDidSuspend(_:)``.
  public static let didSuspendNotification = Notification.Name("weir.notification.name.request.didSuspend")
  /// Posted for ``EventMonitor/requestDidCancel(_:)``.
  public static let didCancelNotification = Notification.Name("weir.notification.name.request.didCancel")
  /// Posted for ``EventMonitor/requestDidFinish(_:)``.
  public static let didFinishNotification = Notification.Name("weir.notification.name.request.didFinish")
  /// Posted for ``EventMonitor/request(_:didResumeTask:)``.
  public static let didResumeTaskNotification = Notification.Name("weir.notification.name.request.didResumeTask")
  /// Posted for ``EventMonitor/request(_:didSuspendTask:)``.
  public static let didSuspendTaskNotification = Notification.Name("weir.notification.name.request.didSuspendTask")
  /// Posted for ``EventMonitor/request(_:didCancelTask:)``.
  public static let didCancelTaskNotification = Notification.Name("weir.notification.name.request.didCancelTask")
  /// Posted for ``EventMonitor/request(_:didCompleteTask:with:)``.
  public static let didCompleteTaskNotification = Notification.Name(
    "weir.notification.name.request.didCompleteTask")
}
