import { readFileSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { decodeFileText } from '@drawbridge/shared/file-text.ts'
import { runCommandLine } from './cli/command-line/command-line.ts'
import { endProcess } from './cli/terminal/output.ts'

// Do not await: chunks loaded later import the chunk of this file, and would wait forever for it to finish.
void runCommandLine(process.argv.slice(2), {
  environment: process.env,
  homeFolder: homedir(),
  hostName: hostname(),
  platform: process.platform,
  readText: (path) => decodeFileText(readFileSync(path)),
}).then(endProcess)
