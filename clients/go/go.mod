module sluice.internal/analytics

go 1.21
