import { ApiError, uncorrected } from '../../api/client/errors.ts'

const SAME: { code: 'required'; message: string } = {
  code: 'required',
  message: 'This is already the current secret. Enter another one.',
}

/**
 * The faults that remain of a refused secret. If the current secret is sent as the new one, the API has no previous
 * secret, and reports that as a fault.
 * @param sent undefined before the first request.
 */
export function secretError(
  error: unknown,
  { sent, typed }: { sent: string | undefined; typed: string },
): unknown {
  if (!(error instanceof ApiError)) return error
  const { code, message, status } = error
  const errors = error.faults.map((fault) =>
    fault.pointer === '/previousSecret' ? { ...SAME, pointer: '/sharedSecret' } : fault,
  )
  return uncorrected(
    new ApiError({ code, message, errors }, status),
    { sharedSecret: sent },
    { sharedSecret: typed },
  )
}
