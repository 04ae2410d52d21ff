import type { Reporter, TestModule } from 'vitest/node'

/** Ends a run with its count as a line of its own: what a machine reads of it. */
export default class Count implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 }
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state] += 1
      // a file that could not even be loaded, or a hook that failed, has no failed test to show
      if (!module.ok() && count.failed === 0) count.failed += 1
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : ''
    process.on('exit', () =>
      process.stdout.write(`${count.passed} passed, ${count.failed} failed${skipped}\n`),
    )
  }
}
