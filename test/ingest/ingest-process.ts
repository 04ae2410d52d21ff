export type { Launched as IngestProcess } from '../../harness/launch.ts'
export { type PreparedSystem as System, putSources } from '../../harness/prepare.ts'
export { prepareSystem, startIngest } from '../helpers/system.ts'
