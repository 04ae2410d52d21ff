export type LocalFaultCode =
  | 'java_missing'
  | 'maven_missing'
  | 'download_failed'
  | 'checksum_wrong'
  | 'cache_not_writable'
  | 'disk_full'
  | 'port_taken'
  | 'already_running'
  | 'keys_damaged'
  | 'data_damaged'
  | 'kafka_start_failed'
  | 'registry_start_failed'
  | 'setting_invalid'

/** What whoever runs `npm start` can put right: told in one message without a stack, and the exit code is 2. */
export class LocalFault extends Error {
  override name = 'LocalFault'
  readonly code: LocalFaultCode

  constructor(code: LocalFaultCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
