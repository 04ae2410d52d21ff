import { readFile } from 'node:fs/promises'
import { stdin, stdout } from 'node:process'
import { text } from 'node:stream/consumers'
import { z } from 'zod'

/** Output of `npm audit --json`. A string in `via` names a package that has its own entry. */
const report = z.object({
  auditReportVersion: z.literal(2),
  vulnerabilities: z.record(
    z.string(),
    z.object({
      via: z.array(
        z.union([
          z.string(),
          z.object({ name: z.string(), title: z.string(), url: z.string(), severity: z.string() }),
        ]),
      ),
    }),
  ),
})

/** `advisory`: GitHub id, `GHSA-…`. `reason`: why it does not affect Sluice. */
export const exceptions = z.strictObject({
  exceptions: z.array(
    z.strictObject({ advisory: z.string().regex(/^GHSA(-[0-9a-z]{4}){3}$/), reason: z.string().min(20) }),
  ),
})

export type Judgement = { faults: string[]; warnings: string[] }

/** @param output of `npm audit --omit=dev --json`. A fault fails CI; a failed audit only warns. */
export function judge(output: string, { exceptions: excepted }: z.infer<typeof exceptions>): Judgement {
  const { data, error } = report.safeParse(parsed(output))
  if (!data)
    return {
      faults: [],
      warnings: [`npm audit failed, so nothing was checked: ${whyNot(output, error)}`],
    }
  const found = new Map(
    Object.values(data.vulnerabilities)
      .flatMap(({ via }) => via)
      .filter((each) => typeof each === 'object')
      .map((each) => [each.url.split('/').at(-1) ?? each.url, each]),
  )
  const ids = new Set(excepted.map(({ advisory }) => advisory))
  return {
    faults: [...found]
      .filter(([id]) => !ids.has(id))
      .map(([id, { name, severity, title }]) => `${id}: ${name}, ${severity}: ${title}`),
    warnings: [...ids]
      .filter((id) => !found.has(id))
      .map((id) => `${id} is listed as an exception, but npm audit no longer reports it: remove it`),
  }
}

function parsed(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}

function whyNot(output: string, error: z.ZodError): string {
  const { data } = z.object({ message: z.string() }).safeParse(parsed(output))
  return data?.message ?? (output.trim() === '' ? 'it printed nothing' : `${error.issues[0]?.message}`)
}

if (import.meta.main) {
  const file = await readFile(new URL('audit-exceptions.json', import.meta.url), 'utf8')
  const { faults, warnings } = judge(await text(stdin), exceptions.parse(JSON.parse(file)))
  for (const warning of warnings) stdout.write(`npm audit, warning: ${warning}\n`)
  for (const fault of faults) stdout.write(`npm audit, vulnerable: ${fault}\n`)
  if (faults.length > 0) {
    stdout.write('Upgrade these packages, or add the advisory with a reason to .ci/audit-exceptions.json.\n')
    process.exitCode = 1
  }
}
