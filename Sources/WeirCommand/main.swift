import Glibc
import WeirGateway

exit(Program.run(Array(CommandLine.arguments.dropFirst())))
