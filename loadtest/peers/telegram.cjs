// Serves npm's telegram-test-api on the loopback port that is given, until stdin ends.
const TelegramServer = require('telegram-test-api');

const server = new TelegramServer({ host: '127.0.0.1', port: Number(process.argv[2]), storeTimeout: 600 });
server.start().then(() => console.log('ready'));
process.stdin.resume().on('end', () => process.exit(0));
