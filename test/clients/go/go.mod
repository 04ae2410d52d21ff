module sluice.internal/produce

go 1.21

require github.com/sluice-dev/sluice/clients/go v0.0.0

replace github.com/sluice-dev/sluice/clients/go => ../../../clients/go
