import Glibc
import WeirGateway

let status = Program.run(Array(CommandLine.arguments.dropFirst()))
// Not `exit`: its handlers would tear libraries down (OpenSSL's state) under event loops that still run.
fflush(nil)
_exit(status)
