// WeirCompressionTests
