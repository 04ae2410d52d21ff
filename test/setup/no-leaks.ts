import { afterAll, expect } from 'vitest'
import { planted } from '../helpers/planted.ts'

planted.forget()
// of each test file, after its own: what its processes say until they have ended counts too
afterAll(() => expect(planted.leaks, 'what processes said that holds a secret').toEqual([]))
