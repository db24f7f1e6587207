import { start } from './commands/start.ts'
import { endProcess } from './terminal/output.ts'

endProcess(await start(process.argv.slice(2), process.env))
