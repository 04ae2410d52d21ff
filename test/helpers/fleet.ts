export { type Answered, type Fleet, post, startFleet } from '../../harness/fleet.ts'
