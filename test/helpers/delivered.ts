export { deliveredAt } from '../../harness/arrivals.ts'
