import { readFileSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { decodeFileText } from '@drawbridge/shared/file-text.ts'
import { runCommandLine } from './cli/command-line/command-line.ts'
import { endProcess } from './cli/terminal/output.ts'

// Without await: what is loaded later imports the file of the bundle that this is in, and would wait for its end for ever.
void runCommandLine(process.argv.slice(2), {
  environment: process.env,
  homeFolder: homedir(),
  hostName: hostname(),
  platform: process.platform,
  readText: (path) => decodeFileText(readFileSync(path)),
}).then(endProcess)
