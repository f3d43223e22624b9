from tools.checks.fuzz import main

main()
