export { type OwnBroker, startOwnBroker, startOwnCluster } from '../../harness/kafka/broker.ts'
export { endsOf, goneBetween, imageOf, type OffsetRange } from '../../harness/kafka/disk.ts'
export { ownBroker } from './cluster.ts'
