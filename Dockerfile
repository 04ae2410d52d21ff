FROM node:24.21.0-slim AS console
WORKDIR /sluice
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
# only what the console is made of, so that it is built again only when that changes
COPY tsconfig.json ./
COPY console console
RUN npm run console

FROM node:24.21.0-slim
WORKDIR /sluice
COPY package.json package-lock.json .npmrc ./
# the image has its Node: the one from the npm package, and all that only tests need, stay out
RUN npm ci --omit=dev --ignore-scripts
COPY . .
COPY --from=console /sluice/console/dist console/dist
USER node
ENTRYPOINT ["node", "--disable-warning=TimeoutNegativeWarning", "--max-semi-space-size=16", "--heap-growing-percent=100", "--no-allocation-site-pretenuring"]
