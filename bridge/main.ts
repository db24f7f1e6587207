import { start } from './cli/command-line/start.ts'
import { endProcess } from './cli/terminal/output.ts'

// Without await: what is loaded later imports the file of the bundle that this is in, and would wait for its end for ever.
void start(process.argv.slice(2), process.env).then(endProcess)
