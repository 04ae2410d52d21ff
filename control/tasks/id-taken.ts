import type { Task } from '../../schemas/task.ts'
import type { Fault } from '../../settings/faults.ts'

export const idTaken = (kind: Task['kind'], id: string): Fault => ({
  pointer: '/id',
  code: 'id_taken',
  message: `${kind} ${id} already exists. If you are retrying, your first request succeeded; otherwise choose another id`,
})
