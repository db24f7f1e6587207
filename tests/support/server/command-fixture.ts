import type { CommandInput } from '../../../server/cli/command.ts'
import { createFakeRuntime, type FakeRuntime } from './fake-runtime.ts'

/** The command line of a test: settings by variable name without prefix, and what commands said. */
export interface CommandFixture {
  input: CommandInput
  runtime: FakeRuntime
  /** What went to stdout and to stderr since it was last asked. */
  said(): { stdout: string; stderr: string }
  /** The one JSON object on stdout since it was last asked. */
  facts(): Record<string, unknown>
}

/** A command line without colours. Nothing of the environment of the test gets into it. */
export function createCommandFixture(
  settings: Readonly<Record<string, string>>,
  options: { json?: boolean; runtime?: FakeRuntime } = {},
): CommandFixture {
  const runtime = options.runtime ?? createFakeRuntime()
  let [stdout, stderr] = ['', '']
  const named = Object.entries(settings).map(([name, value]) => [`DRAWBRIDGE_${name}`, value])
  const fixture: CommandFixture = {
    runtime,
    input: {
      flags: {},
      upstreamCommand: undefined,
      environment: Object.fromEntries(named) as Record<string, string>,
      json: options.json ?? false,
      runtime,
      terminal: {
        print: (text) => void (stdout += `${text}\n`),
        note: (text) => void (stderr += `${text}\n`),
        colour: (_, text) => text,
      },
    },
    said() {
      const said = { stdout, stderr }
      stdout = ''
      stderr = ''
      return said
    },
    facts: () => JSON.parse(fixture.said().stdout) as Record<string, unknown>,
  }
  return fixture
}
