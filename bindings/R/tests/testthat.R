library(testthat)
library(oatgp)

test_check("oatgp")
