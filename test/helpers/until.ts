export { until } from '../../harness/until.ts'
