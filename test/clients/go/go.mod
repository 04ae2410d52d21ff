module sluice.internal/produce

go 1.21

require sluice.internal/analytics v0.0.0

replace sluice.internal/analytics => ../../../clients/go
