export { NODE_FLAGS } from '../../harness/launch.ts'
