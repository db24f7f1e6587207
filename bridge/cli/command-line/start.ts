import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { decodeFileText } from '@drawbridge/shared/file-text.ts'
import { createBridgeConfig, readSettings, type Surroundings } from '../../config/config-reader.ts'
import { type ParsedArguments, parseArguments } from '../../config/setting-argument.ts'
import { systemRuntime } from '../../config/system-runtime.ts'
import { protocolStreams, say } from '../terminal/output.ts'
import { connect } from '../connect/connect.ts'
import { exitCode } from '../failure/command-failure.ts'
import { describeError, failureText } from '../failure/failure-text.ts'

const helpFlags = ['--help', '-h']
const versionFlags = ['--version', '-V']

/**
 * Runs one command line and answers its exit code. Whatever is no command is a connection, whose words are read here; the
 * rest of the command line is loaded for commands and for help.
 */
export async function start(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const surroundings = surroundingsOf(environment)
  const line = parseArguments(words, [...helpFlags, ...versionFlags])
  const asks = (flags: readonly string[]): boolean => flags.some((flag) => line.switches.has(flag))
  if (isCommandWord(words[0]) || words.length === 0 || asks(helpFlags) || asks(versionFlags)) {
    const { runCommandLine } = await import('./command-line.ts')
    return runCommandLine(words, surroundings)
  }
  return connectLine(line, surroundings)
}

/** No URL looks like that, and no host with a port. */
function isCommandWord(word: string | undefined): boolean {
  return word !== undefined && /^[a-z][a-z-]*$/i.test(word)
}

async function connectLine(line: ParsedArguments, surroundings: Surroundings): Promise<number> {
  const { environment, platform } = surroundings
  try {
    const read = readSettings(line, surroundings)
    const config = createBridgeConfig(read, surroundings)
    if (!config.output.silent) for (const warning of read.warnings) say(warning)
    const code = await connect(config, {
      streams: protocolStreams(),
      runtime: systemRuntime,
      environment,
      platform,
    })
    return code
  } catch (error) {
    const failure = describeError(error, { serverUrl: line.operands[0] })
    say(failureText('', failure))
    return failure.exit === exitCode.usage ? exitCode.usage : exitCode.failed
  }
}

function surroundingsOf(environment: Readonly<Record<string, string | undefined>>): Surroundings {
  return {
    environment,
    homeFolder: homedir(),
    platform: process.platform,
    readText: (path) => decodeFileText(readFileSync(path)),
  }
}
