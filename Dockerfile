FROM node:24.21.0-slim
WORKDIR /sluice
COPY package.json package-lock.json .npmrc ./
# the image has its Node: the one from the npm package, and all that only tests need, stay out
RUN npm ci --omit=dev --ignore-scripts
COPY . .
USER node
ENTRYPOINT ["node", "--disable-warning=TimeoutNegativeWarning", "--max-semi-space-size=16", "--heap-growing-percent=100", "--no-allocation-site-pretenuring"]
