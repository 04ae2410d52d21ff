/** All faults, one line each. The process exits with code 2. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly code = 'config_invalid'
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(
      `${faults.length === 1 ? 'One setting is' : `${faults.length} settings are`} wrong:\n  ${faults.join('\n  ')}`,
    )
    this.faults = faults
  }
}
